import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
var replyClasses=["recipient","full","sender","policy","reputation","content","protocol","host","greylist","rate"];export{replyClasses};
