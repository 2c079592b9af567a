import { duration, number, table } from './setting.ts'

/** How messages that come in are read (lib/reading). */
export const readingTable = table(
  'How messages that come in are read: in threads, so that none of them holds up or harms the rest.',
  {
    threads: number({
      default: 0,
      minimum: 0,
      maximum: 64,
      unit: 'threads',
      description:
        'The most threads that read messages; half of them are for those above 256 KiB. They start when they are needed. 0: one for each core, at least 2 and at most 8.',
    }),
    timeout: duration(['10ms', '10m'], {
      default: '10s',
      description:
        'How long the reading of one message may take. One that takes longer, or more memory than it may, is stored, marked with parseProblems, and shown with what its header says.',
    }),
    memory: number({
      default: 192 * 1024 * 1024,
      minimum: 32 * 1024 * 1024,
      maximum: 4 * 1024 * 1024 * 1024,
      unit: 'bytes',
      description: 'The memory that one thread may use for what it makes of messages, besides their bytes.',
    }),
  },
)
