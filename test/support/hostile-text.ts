/** Text that looks like an event stream, for tests of framing. */
import type { Chance } from './random.ts'

/** Every line separator that a parser recognizes, and characters that a parser removes. */
export const separators = [
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\v',
  '\f',
  '\u0085',
  '\u2028',
  '\u2029',
  '\0',
  '\ufeff',
  '\ud800',
  '\udc00',
  '\u{1f600}',
]

const fields = [
  'id: 999.1',
  'id: 1.0',
  'id: 0.0',
  'id:2.1',
  'id',
  'event: endpoint',
  'retry: 0',
  'data: {"jsonrpc":"2.0","id":1,"result":{}}',
  'data:',
  ': comment',
  '1051.100',
  '100',
  'text',
  '"}],"id":1',
  '\\u2028',
]

export const hostileText = (random: Chance): string =>
  random
    .some(1, 8, () =>
      random.one([random.one(separators), random.one(fields), random.one(separators) + random.one(fields)]),
    )
    .join('')
