import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{findBrokenQuickly,findDamage}from"../../chunks/chunk-RDRUB4BQ.js";import"../../chunks/chunk-N62VOZIV.js";var[path="",depth]=process.argv.slice(2),{broken,orphans}=depth==="deep"?findDamage(path):{broken:findBrokenQuickly(path),orphans:[]};process.send?.([...broken,...orphans]);
