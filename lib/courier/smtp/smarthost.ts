import type { Log } from '../../base/log.ts'
import type { Dns } from '../../base/network.ts'
import { type HostTls, opportunistic } from '../encryption/host-tls.ts'
import { findAddresses } from '../mx.ts'
import type { Carrier, Letter } from './carrier.ts'
import { type Ending, moreTelling, unheard } from './ending.ts'
import type { Route, Smarthost } from './routes.ts'
import { abortError, type Raw, type Watch } from './session.ts'

export interface SmarthostParts {
  readonly dns: Dns
  readonly carrier: Carrier
  readonly useIpv6: boolean
  readonly log: Log | undefined
}

/** A certificate that is believed, for the name. */
const proven: HostTls = { ...opportunistic, demand: { kind: 'certificate' } }

/** Carries it to the server that the operator named, which passes it on. */
export async function carryToSmarthost(
  { dns, carrier, useIpv6, log }: SmarthostParts,
  letter: Letter & { readonly id: string },
  raw: Raw,
  watch: Watch,
  { sourceAddress: source }: Route,
  { host, port, tls, login }: Smarthost,
): Promise<Ending> {
  const found = await findAddresses(dns, host, useIpv6)
  if ('failure' in found) {
    // The operator named it: that it has no address is nothing about the recipient.
    const { text } = found.failure
    return {
      outcome: { result: 'transient', enhanced: '4.4.3', text, host, showing: 'fails' },
      isFinal: false,
    }
  }
  const by = {
    port,
    isImplicit: tls === 'implicit',
    login,
    route: `${host}:${port} ${login?.user ?? ''}`,
    ...(source === undefined ? {} : { sourceAddress: source }),
  }
  const demanded = tls === 'plain' ? opportunistic : proven
  let best: Ending | undefined
  for (const address of found.addresses) {
    if (watch.signal.aborted) break
    const ending = await carrier.carryTo(
      { host, address, tls: demanded, by, noteTls() {} },
      letter,
      raw,
      watch,
    )
    log?.debug({ deliveryId: letter.id, ...ending.outcome, isFinal: ending.isFinal }, 'smarthost tried')
    best = moreTelling(best, ending)
    // Whatever it answers is the answer: it speaks for all its addresses.
    if (ending.isFinal || hasAnswered(ending)) break
  }
  return best ?? unheard('4.4.7', abortError(watch.signal).message)
}

export function hasAnswered({ outcome: { showing } }: Ending): boolean {
  return showing === 'answers' || showing === 'slows'
}
