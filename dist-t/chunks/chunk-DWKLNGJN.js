import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
var Reply=class extends Error{name="Reply";code;enhanced;text;reason;constructor(code,enhanced,text,reason=text){super(`${code} ${enhanced} ${text}`),this.code=code,this.enhanced=enhanced,this.text=text,this.reason=reason}};export{Reply};
