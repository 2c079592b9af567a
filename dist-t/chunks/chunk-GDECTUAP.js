import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
var form=/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/;function readInstant(text){let ms=form.test(text)?Date.parse(text):Number.NaN;return Number.isNaN(ms)?void 0:new Date(ms).toISOString()}export{readInstant};
