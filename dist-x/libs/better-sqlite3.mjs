import { createRequire as bundleRequire } from 'node:module';const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import*as x from"better-sqlite3";globalThis.x=x;
