import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { getPeer } from './peers.ts'
import { temporaryDir } from './temporary-dir.ts'
import { until } from './until.ts'

/** A page in a headless Chromium that a test can look at and press the buttons of. */
export interface BrowserSession {
  /** Opens an address, by following a link of this one, and waits until it is loaded. */
  open(url: string): Promise<void>
  /** What an expression of JavaScript gives in the page. */
  read<T>(expression: string): Promise<T>
  /** Presses a key, as a person does, and waits for the page that it leads to. */
  press(key: 'Tab' | 'Enter', leadsOn: boolean): Promise<void>
  /** A PNG of the page in a window of this width. */
  picture(width: number, height: number): Promise<Buffer>
  /** Everything that the browser has said against the pages. */
  readonly complaints: readonly string[]
}

interface Reply {
  readonly id?: number
  readonly method?: string
  // biome-ignore lint/suspicious/noExplicitAny: what the protocol gives; a test reads what it expects
  readonly params?: any
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly result?: any
  readonly error?: { message: string }
}

const keys = {
  Tab: { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 },
  Enter: { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' },
}

/** @param isScripted false: as a browser that runs no scripts of pages */
export async function openBrowser(t: Test, isScripted: boolean): Promise<BrowserSession> {
  const child = spawn(
    getPeer('chromium'),
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--disable-background-networking',
      `--user-data-dir=${temporaryDir(t)}`,
      '--remote-debugging-port=0',
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  )
  let said = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    said += text
  })
  t.teardown(async () => {
    const exit = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
    // Its renderers are processes of the group that it leads.
    if (exit) process.kill(-child.pid!, 'SIGKILL')
    await exit
  })
  const address = await until(
    'the browser',
    () => /DevTools listening on (ws:\/\/\S+)/.exec(said)?.[1],
    30_000,
  )
  const targets = (await (await fetch(`http://${new URL(address).host}/json/list`)).json()) as {
    type: string
    webSocketDebuggerUrl: string
  }[]
  const socket = new WebSocket(targets.find(target => target.type === 'page')!.webSocketDebuggerUrl)
  await once(socket, 'open')
  const waiting = new Map<number, (reply: Reply) => void>()
  const complaints: string[] = []
  let loads = 0
  let sent = 0
  socket.onmessage = ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply
    if (reply.id !== undefined) waiting.get(reply.id)?.(reply)
    if (reply.method === 'Page.loadEventFired') loads++
    if (reply.method === 'Log.entryAdded') complaints.push(reply.params.entry.text)
  }
  const say = async (method: string, params: object = {}) => {
    const id = ++sent
    const answer = new Promise<Reply>(resolve => waiting.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params }))
    const { result, error } = await answer
    if (error) throw new Error(`${method}: ${error.message}`)
    return result
  }
  const loaded = (before: number) => until('the page to load', () => loads > before, 30_000)
  await say('Page.enable')
  await say('Log.enable')
  await say('Emulation.setScriptExecutionDisabled', { value: !isScripted })
  return {
    complaints,
    async open(url) {
      const before = loads
      await say('Page.navigate', { url })
      await loaded(before)
    },
    read: async expression =>
      (await say('Runtime.evaluate', { expression, returnByValue: true })).result.value,
    async press(key, leadsOn) {
      const before = loads
      await say('Input.dispatchKeyEvent', { type: 'keyDown', ...keys[key] })
      await say('Input.dispatchKeyEvent', { type: 'keyUp', ...keys[key] })
      if (leadsOn) await loaded(before)
    },
    async picture(width, height) {
      await say('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: true })
      return Buffer.from((await say('Page.captureScreenshot', { format: 'png' })).data, 'base64')
    },
  }
}
