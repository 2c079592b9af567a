import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{commandingOrSpace}from"./chunk-DSZORANI.js";function oneLine(text){return text.slice(0,4*textLength).replace(commandingOrSpace," ").trim().slice(0,textLength).toWellFormed()}var textLength=1e3;export{oneLine};
