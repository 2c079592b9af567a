import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{packageRoot}from"./chunk-CMMIEWAQ.js";import{join}from"node:path";function threadEntry(name){return import.meta.filename.endsWith(".ts")?join(packageRoot(),"lib",`${name}.ts`):join(packageRoot(),"dist","lib",`${name}.js`)}export{threadEntry};
