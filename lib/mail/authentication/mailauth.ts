let loaded: ReturnType<typeof load> | undefined

/**
 * What is used of mailauth, loaded when it is first asked for, so that a start need not wait for it. It is kept: `import()` of a module that is
 * there already still takes as long as all of SPF.
 */
export function loadMailauth(): ReturnType<typeof load> {
  loaded ??= load().catch(error => {
    loaded = undefined
    throw error
  })
  return loaded
}

async function load() {
  const [{ spf }, { dmarc, evaluateDmarc }, { getAlignment }] = await Promise.all([
    import('mailauth/lib/spf/index.js'),
    import('mailauth/lib/dmarc/index.js'),
    import('mailauth/lib/tools.js'),
  ])
  return { spf, dmarc, evaluateDmarc, getAlignment }
}
