import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
var commanding=/[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu,commandingOrSpace=/[\p{Cc}\p{Cs} \u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]+/gu;function printable(text){return text.replace(commanding,(character,at)=>character===`
`||character==="	"||character==="\r"&&text[at+1]===`
`?character:escaped(character))}function printableLine(text){return text.replace(commanding,escaped)}var short=new Map([[`
`,"\\n"],["\r","\\r"],["	","\\t"]]);function escaped(character){let known=short.get(character);if(known!==void 0)return known;let code=character.codePointAt(0);return code<=255?`\\x${code.toString(16).padStart(2,"0")}`:code<=65535?`\\u${code.toString(16).padStart(4,"0")}`:`\\u{${code.toString(16)}}`}function printableJson(json){return json.replace(commanding,character=>character===`
`?character:Array.from({length:character.length},(_,index)=>`\\u${character.charCodeAt(index).toString(16).padStart(4,"0")}`).join(""))}export{commandingOrSpace,printable,printableLine,printableJson};
