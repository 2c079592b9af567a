import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
var BlobsFault=class extends Error{name="BlobsFault"};export{BlobsFault};
