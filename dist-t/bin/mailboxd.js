import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{keepCompiledCode}from"../chunks/chunk-VLVIPNTY.js";import"../chunks/chunk-N62VOZIV.js";keepCompiledCode();var{serve}=await import("../chunks/serve-KI7HGL27.js"),{packageVersion}=await import("../chunks/package-root-YGWCQLNL.js");process.exit(await serve(process.argv.slice(2),packageVersion(),process.env));
