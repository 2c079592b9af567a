import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{InvalidArgumentError}from"./chunk-VF7AXMDU.js";import{durationMs,init_duration}from"./chunk-I7KWKAFH.js";init_duration();function duration(text){try{durationMs(text)}catch{throw new InvalidArgumentError("want a time such as 30m, 2h or 3d")}return text}export{duration};
