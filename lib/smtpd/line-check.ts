/**
 * Finds in a message what RFC 5321 §2.3.8 does not let be there. A CR or LF that is not half of a CRLF is where two
 * servers may see different ends of a message (SMTP smuggling), and no signature over it survives the next hop. A NUL
 * (RFC 5322 §4: obsolete, and not to be sent) ends the text for some readers and not for others.
 */
export interface LineCheck {
  /** Looks at the next bytes; gives what was the first fault in what came so far. */
  see(chunk: Buffer): LineFault | undefined
}

export type LineFault = 'bare CR or LF' | 'NUL'

const cr = 0x0d
const lf = 0x0a

export function createLineCheck(): LineCheck {
  let last = 0x20
  let fault: LineFault | undefined

  return {
    see(chunk) {
      if (fault === undefined && chunk.length > 0) {
        fault = hasBareByte(chunk, last) ? 'bare CR or LF' : chunk.includes(0) ? 'NUL' : undefined
        last = chunk[chunk.length - 1]!
      }
      return fault
    },
  }
}

/** @param before the byte before the first of `chunk` */
function hasBareByte(chunk: Buffer, before: number): boolean {
  if (before === cr && chunk[0] !== lf) return true
  for (let at = chunk.indexOf(lf); at !== -1; at = chunk.indexOf(lf, at + 1)) {
    if ((at === 0 ? before : chunk[at - 1]) !== cr) return true
  }
  for (let at = chunk.indexOf(cr); at !== -1 && at + 1 < chunk.length; at = chunk.indexOf(cr, at + 1)) {
    if (chunk[at + 1] !== lf) return true
  }
  return false
}
