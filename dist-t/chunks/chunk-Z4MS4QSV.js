import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{join}from"node:path";function issuedPaths(dataDir){let path=join(dataDir,"acme","certificate.pem");return{certificate:path,key:path}}export{issuedPaths};
