import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
var ConfigFault=class extends Error{name="ConfigFault";faults;constructor(source,faults){super(faults.map(({path,message})=>[source,path,message].filter(Boolean).join(": ")).join(`
`)),this.faults=faults}};export{ConfigFault};
