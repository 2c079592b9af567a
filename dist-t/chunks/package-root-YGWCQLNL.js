import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{packageRoot,packageVersion}from"./chunk-CMMIEWAQ.js";import"./chunk-N62VOZIV.js";export{packageRoot,packageVersion};
