import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{expireBeforeUpgrade,keepBeforeUpgrade}from"./chunk-YBASHJOP.js";import"./chunk-V2G4IZOL.js";import"./chunk-QBSPYVBY.js";import"./chunk-UJFTDZJQ.js";import"./chunk-2VO4RGQI.js";import"./chunk-5OCK25AT.js";import"./chunk-DSZORANI.js";import"./chunk-CMMIEWAQ.js";import"./chunk-UMSCINIV.js";import"./chunk-N62VOZIV.js";export{expireBeforeUpgrade,keepBeforeUpgrade};
