import { workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'

const { path, to } = workerData as { path: string; to: string }
const connection = new Database(path, { readonly: true })
// One read transaction: the writer goes on, and the copy has what was committed when it began.
connection.prepare('vacuum into ?').run(to)
connection.close()
