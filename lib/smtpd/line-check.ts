/**
 * Finds a CR or LF that is not half of a CRLF (RFC 5321 §2.3.8). Such bytes are where two servers may see different
 * ends of a message (SMTP smuggling), and no signature over them survives the next hop.
 */
export interface LineCheck {
  /** Looks at the next bytes; gives whether a bare CR or LF was in what came so far. */
  see(chunk: Buffer): boolean
}

const cr = 0x0d
const lf = 0x0a

export function createLineCheck(): LineCheck {
  let last = 0
  let isBroken = false

  function hasBareByte(chunk: Buffer): boolean {
    if (last === cr && chunk[0] !== lf) return true
    for (let at = chunk.indexOf(lf); at !== -1; at = chunk.indexOf(lf, at + 1)) {
      if ((at === 0 ? last : chunk[at - 1]) !== cr) return true
    }
    for (let at = chunk.indexOf(cr); at !== -1 && at + 1 < chunk.length; at = chunk.indexOf(cr, at + 1)) {
      if (chunk[at + 1] !== lf) return true
    }
    return false
  }

  return {
    see(chunk) {
      if (!isBroken && chunk.length > 0) {
        isBroken = hasBareByte(chunk)
        last = chunk[chunk.length - 1]!
      }
      return isBroken
    },
  }
}
