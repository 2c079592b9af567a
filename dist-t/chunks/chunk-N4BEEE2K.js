import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
var kinds=["delivery","draft","webhook"];function attemptsMade({attempts,cutOffs}){return attempts-cutOffs}var LeaseLost=class extends Error{name="LeaseLost"};export{kinds,attemptsMade,LeaseLost};
