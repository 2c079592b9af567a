import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{__commonJS}from"./chunk-N62VOZIV.js";var require_http=__commonJS({"builtin:http"(exports,module){module.exports=process.getBuiltinModule("node:http")}});export{require_http};
