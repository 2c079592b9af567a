import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { measures } from '../../lib/base/metrics.ts'
import { packageRoot } from '../../lib/base/package-root.ts'
import { createMetrics } from '../../lib/metrics/registry.ts'

t.test('the dashboard and the alerts name metrics and labels that there are', async t => {
  const text = await createMetrics().text()
  const known = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!))
  for (const file of ['grafana-dashboard.json', 'prometheus-alerts.yaml']) {
    const said = readFileSync(join(packageRoot(), 'config', file), 'utf8').replaceAll('\\"', '"')
    const used = [...said.matchAll(/\bmailboxd_(\w+)(?:\{([^}]*)\})?/g)]
    t.ok(used.length > 10, file)
    for (const [, name, matchers = ''] of used) {
      const whole = name!.replace(/_(?:bucket|sum|count)$/, '')
      t.ok(known.has(`mailboxd_${whole}`) || known.has(`mailboxd_${name}`), `${file}: mailboxd_${name}`)
      const measure = Object.entries(measures).find(([one]) => one === whole)?.[1]
      const labels: readonly string[] = [
        ...(measure?.labels ?? []),
        'job',
        'instance',
        'le',
        'version',
        'quantile',
        'type',
        'kind',
        'space',
      ]
      for (const [, label] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g))
        t.ok(labels.includes(label!), `${file}: ${label} of ${name}`)
    }
  }
})
