/** The parameters that node-postgres knows in the URL of a server; what it knows not, it passes over in silence. */
const known = [
  'host',
  'port',
  'options',
  'application_name',
  'fallback_application_name',
  'client_encoding',
  'sslmode',
  'sslcert',
  'sslkey',
  'sslrootcert',
  'sslnegotiation',
  'uselibpqcompat',
  'connect_timeout',
  'keepalives',
  'keepalives_idle',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'query_timeout',
]

const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** What is wrong with the parameters of the URL of a server. @param query what stands behind its question mark */
export function postgresQueryFault(query: string): string | undefined {
  const asked = new URLSearchParams(query)
  const names = [...asked.keys()]
  const unknown = names.find(name => !known.includes(name))
  if (unknown !== undefined) return `has the parameter "${unknown}", which is none of ${known.join(', ')}`
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return `has the parameter "${twice}" twice`
  if (asked.get('host')?.includes(',')) return 'has several hosts: name one server'
  const mode = asked.get('sslmode')
  if (mode !== null && !sslModes.includes(mode))
    return `has sslmode=${mode}, which must be one of ${sslModes.join(', ')}: write sslmode=verify-full`
  if (asked.get('uselibpqcompat') === 'true' && mode === 'verify-ca' && !asked.has('sslrootcert'))
    return 'has sslmode=verify-ca, which needs sslrootcert: write sslmode=verify-full'
  return undefined
}

/** Whether nothing is encrypted, whoever answers is believed, anybody of the CA is, or the server proves its name. */
type Proof = 'clear' | 'anybody' | 'authority' | 'name'

/** What the server of a URL must prove, as node-postgres reads its parameters. */
export function proofOf(asked: URLSearchParams): Proof {
  const mode = asked.get('sslmode')
  if (mode === null || mode === 'disable') return 'clear'
  if (mode === 'no-verify') return 'anybody'
  if (mode === 'verify-full' || asked.get('uselibpqcompat') !== 'true') return 'name'
  return mode !== 'prefer' && asked.has('sslrootcert') ? 'authority' : 'anybody'
}
