import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{InvalidArgumentError}from"./chunk-VF7AXMDU.js";function wholeNumber(text){if(!/^\d{1,9}$/.test(text))throw new InvalidArgumentError("It must be a whole number.");return Number(text)}export{wholeNumber};
