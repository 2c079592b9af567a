/** What a test can do with a real mail server of someone else, whichever it is. */
export interface MailServer {
  /** Where it listens for SMTP. */
  readonly address: string
  readonly port: number
  /** The outermost process, for a benchmark to measure. */
  readonly pid: number
  /** Waits until `mailbox` (an address) holds `count` messages, 1 unless told, and gives them raw, oldest first. */
  messages(mailbox: string, count?: number): Promise<Buffer[]>
  /** How many messages `mailbox` holds now. */
  count(mailbox: string): number
  /** Everything that it logged. */
  log(): string
  /** Ends it with all its processes, at once. Its files stay for whoever made the directory. */
  stop(): Promise<void>
}

export interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string | Buffer
}

export interface MailServerOptions {
  /** An empty directory for everything that the server writes: config, queue, mail, log. */
  readonly dir: string
  readonly hostname: string
  /** Loopback address and port to listen on; several servers of one test may share a port number. */
  readonly address: string
  readonly port: number
  /** The addresses it takes mail for, each into a Maildir of its own; others of their domains get 550. */
  readonly mailboxes: readonly string[]
  /** Where mail for other domains goes: domain → `address:port`. There is no DNS in it. */
  readonly routes?: Readonly<Record<string, string>>
}

/** The domains of a set of addresses, each once. */
export function domainsOf(addresses: readonly string[]): string[] {
  return [...new Set(addresses.map(address => address.slice(address.lastIndexOf('@') + 1)))]
}
