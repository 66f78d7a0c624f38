import { describe, expect, test } from 'vitest'
import { McpError } from '../../worker/protocol/errors.ts'
import { endBytes, responseIdsIn, unreadableBody } from '../../worker/protocol/jsonrpc.ts'

const head = '"jsonrpc":"2.0"'

describe('the requests that wait for a refused body', () => {
  const response = (id: string, rest: string) => `{${head},"id":"${id}",${rest}}`
  const rest = 'x'.repeat(2_000)
  test.each<[string, string, string[]]>([
    ['before the result', response('ask-1', `"result":{"a":"${rest}"}`), ['ask-1']],
    ['after the result', `{"result":{"a":"${rest}"},"id":"ask-1",${head}}`, ['ask-1']],
    ['on both sides', `{"id":"ask-1","result":{"a":"${rest}"},${head}}`, ['ask-1']],
    ['on lines of their own', `{\n  ${head},\n  "id" : "ask-1",\n  "error": {"a":"${rest}"}\n}\n`, ['ask-1']],
    ['of a request', response('ask-1', `"method":"x","params":{"a":"${rest}"}`), []],
    ['after params', `{"params":{"a":"${rest}"},"id":"ask-1"}`, []],
    ['in the result', `{"result":{"a":"${rest}","id":"ask-1"}}`, []],
    ['in a text of the result', JSON.stringify({ result: `${rest}","id":"ask-1"}` }), []],
    ['in a batch', `[${response('ask-1', `"result":{"a":"${rest}"}`)}]`, []],
    ['that is long', `{"id":"${'1'.repeat(65)}","result":{"a":"${rest}"}}`, []],
    ['that is cut off', `{"result":{"a":"${rest}`, []],
  ])('are read from the ends of a body that is too large: %s', (_, text, ids) => {
    const ends = `${text.slice(0, endBytes)}${text.slice(-endBytes)}`
    expect(responseIdsIn(unreadableBody(new McpError('content_too_large', ''), ends))).toEqual(ids)
  })
})
