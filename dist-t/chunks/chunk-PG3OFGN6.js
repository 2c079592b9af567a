import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
var systemClock={now:()=>new Date,monotonicMs:()=>performance.now()};function isoAfter(from,ms){return new Date(from.getTime()+ms).toISOString()}export{systemClock,isoAfter};
