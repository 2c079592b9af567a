import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
var SchemaFault=class extends Error{name="SchemaFault"};export{SchemaFault};
