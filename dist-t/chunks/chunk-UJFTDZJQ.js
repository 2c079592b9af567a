import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{printableLine}from"./chunk-DSZORANI.js";var BackupFault=class extends Error{name="BackupFault";constructor(sentence,options){super(printableLine(sentence),options)}};export{BackupFault};
