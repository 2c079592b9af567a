import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{CheckFailed}from"./chunk-EPYYQAYZ.js";function tellFindings(findings){return["error","warning","hint"].flatMap(level=>findings.filter(one=>one.level===level)).map(({level,code,subject,message,paste})=>{let heading=`${level.padEnd(7)}  ${subject}  (${code})
         ${message}`;return paste===null?heading:`${heading}

${indented(paste)}
`}).join(`
`)}function indented(text){return text.replaceAll(/^/gm,"           ")}function failFor(findings){if(findings.some(one=>one.level==="error"))throw new CheckFailed(2);if(findings.some(one=>one.level==="warning"))throw new CheckFailed(1)}export{tellFindings,failFor};
