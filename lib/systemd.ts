import type { Log } from './base/log.ts'

/** Descriptors of listening sockets, by the door that they are for. */
export interface PassedSockets {
  readonly smtp: readonly number[]
  readonly submission: readonly number[]
  readonly submissions: readonly number[]
  readonly http: readonly number[]
}

/** The service manager (systemd) that started this process, as far as it told of itself. */
export interface ServiceManager {
  /** Listening sockets that it holds and passed on, by `FileDescriptorName=` of their units (sd_listen_fds(3)). */
  readonly sockets: PassedSockets
  /** Says that the doors are open, and from then on, where a watchdog is set, that the event loop comes round. */
  ready(log: Log): void
  /** Says that no more than the end of this process is to be waited for. */
  stopping(log: Log): void
}

type Environment = Readonly<Record<string, string | undefined>>

type SdNotify = (unsetEnvironment: number, state: string) => number

/**
 * sd_notify(3) of systemd's library. Node has no datagrams of AF_UNIX, and a program that is started for each word would need
 * the right of all processes of the unit to speak for it.
 */
function openSdNotify(): SdNotify {
  const ffi = process.getBuiltinModule('node:ffi') as typeof import('node:ffi') | undefined
  if (!ffi) throw new Error('this Node has no node:ffi')
  const { functions } = ffi.dlopen('libsystemd.so.0', {
    sd_notify: { arguments: ['int32', 'string'], return: 'int32' },
  })
  return functions.sd_notify
}

/** The first descriptor that is passed (SD_LISTEN_FDS_START). */
const firstDescriptor = 3

/** What the environment says of a service manager. One that speaks to another process, or none, gives one that is silent. */
export function serviceManagerOf(environment: Environment, pid: number): ServiceManager {
  const isOurs = (name: string) => environment[name] === undefined || Number(environment[name]) === pid
  let say: SdNotify | undefined
  const notify = (log: Log, state: string) => {
    if (!environment.NOTIFY_SOCKET) return
    try {
      say ??= openSdNotify()
      const result = say(0, state)
      if (result < 0) log.warn({ state, errno: -result }, 'systemd could not be told')
    } catch (error) {
      log.warn({ err: error, state }, 'systemd could not be told')
    }
  }
  let watchdog: NodeJS.Timeout | undefined
  return {
    sockets: passedSockets(environment, pid),
    ready(log) {
      notify(log, 'READY=1')
      const withinMs = Number(environment.WATCHDOG_USEC ?? 0) / 1000
      if (!(withinMs > 0) || !isOurs('WATCHDOG_PID')) return
      // Half of the time is what sd_watchdog_enabled(3) advises.
      watchdog = setInterval(() => notify(log, 'WATCHDOG=1'), withinMs / 2)
      watchdog.unref()
    },
    stopping(log) {
      clearInterval(watchdog)
      notify(log, 'STOPPING=1')
    },
  }
}

function passedSockets(environment: Environment, pid: number): PassedSockets {
  if (Number(environment.LISTEN_PID) !== pid) return { smtp: [], submission: [], submissions: [], http: [] }
  const names = (environment.LISTEN_FDNAMES ?? '').split(':')
  const all = Array.from({ length: Number(environment.LISTEN_FDS) || 0 }, (_, index) => ({
    descriptor: firstDescriptor + index,
    name: names[index],
  }))
  const named = (name: string) => all.filter(one => one.name === name).map(one => one.descriptor)
  return {
    smtp: named('smtp'),
    submission: named('submission'),
    submissions: named('submissions'),
    http: named('http'),
  }
}
