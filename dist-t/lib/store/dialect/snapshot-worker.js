import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{workerData}from"node:worker_threads";import Database from"better-sqlite3";var{path,to}=workerData,connection=new Database(path,{readonly:!0});connection.prepare("vacuum into ?").run(to);connection.close();
