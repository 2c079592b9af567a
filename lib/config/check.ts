import { _, Ajv } from 'ajv'
import { formatChecks, isBetween } from './format-checks.ts'
import { type Config, settings } from './schema.ts'

/**
 * Tries a configuration against the schema. In a build this module is the code that ajv makes of it (bin/build.ts), and ajv is not
 * loaded; so what the code calls is named by the file that it stands in.
 */
export const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  useDefaults: true,
  // Our schema is tried against the meta-schema by a test, and its code runs once: optimising it costs more than it saves.
  validateSchema: false,
  code: { optimize: false, source: true, esm: true, formats: _`require("./format-checks.ts").formatChecks` },
})
ajv.addVocabulary(['local', 'unit'])
ajv.addKeyword({
  keyword: 'between',
  type: 'string',
  schemaType: 'array',
  code(context) {
    const code = _`require("./format-checks.ts").isBetween`
    const call = context.gen.scopeValue('func', { ref: isBetween, code })
    context.fail(_`!${call}(${context.schemaValue}, ${context.data})`)
  },
})
for (const [name, isOfForm] of Object.entries(formatChecks)) ajv.addFormat(name, isOfForm)

export const check = ajv.compile<Config>(settings)
