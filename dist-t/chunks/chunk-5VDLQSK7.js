import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{replaceFile}from"./chunk-JLBBSU4L.js";import{readFile}from"node:fs/promises";import{join}from"node:path";var standingPath=dataDir=>join(dataDir,"acme","standing.json");async function readStanding(dataDir){try{let{failures,notBefore,order,error}=JSON.parse(await readFile(standingPath(dataDir),"utf8"));return Number.isInteger(failures)&&!Number.isNaN(Date.parse(notBefore))?{failures,notBefore,order,error}:void 0}catch{return}}async function writeStanding(dataDir,standing){await replaceFile(standingPath(dataDir),`${JSON.stringify(standing??{})}
`)}export{readStanding,writeStanding};
