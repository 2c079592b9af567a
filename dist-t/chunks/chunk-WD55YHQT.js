import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
var memories=new WeakMap;function beginMemory(db){memories.set(db,{})}function memoryOf(db){let known=memories.get(db);if(known)return known;let made={};return memories.set(db,made),made}export{beginMemory,memoryOf};
