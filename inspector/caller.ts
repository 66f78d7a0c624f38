/** The caller: anonymous, the principal of a token, or a test user. */
import { inspectorUserToken } from '../worker/client/test-users.ts'
import { isObject } from '../worker/protocol/jsonrpc.ts'
import { type Child, make, newId } from './element.ts'

export type Caller = { readonly token: string | undefined; readonly words: string }

export interface CallerFields {
  readonly token: HTMLElement
  readonly testUser: Child
  /** @throws Error when the claims of a test user are not a JSON object */
  read(): Caller
}

/** @param mayMakeUp whether the server accepts test users, which it does in development */
export function callerFields(mayMakeUp: boolean): CallerFields {
  const token = make('input', {
    id: newId(),
    name: 'token',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'anonymous',
  })
  const plain = { autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none' }
  const input = (name: string, placeholder: string) => make('input', { id: newId(), name, placeholder, ...plain })
  const subject = input('subject', '')
  const scopes = input('scopes', 'notes:read notes:write')
  const tenant = input('tenant', 'none')
  const claims = input('claims', '{}')
  return {
    token: field('Bearer token', token),
    testUser:
      mayMakeUp &&
      make(
        'fieldset',
        {},
        make('legend', {}, 'Instead of a token: a test user'),
        field('Subject', subject),
        field('Scopes', scopes),
        field('Tenant', tenant),
        field('Other claims', claims),
      ),
    read() {
      const name = subject.value.trim()
      if (!name) {
        const value = token.value.trim() || undefined
        return { token: value, words: value ? 'the principal of the token' : 'an anonymous caller' }
      }
      const user = {
        subject: name,
        scopes: scopes.value.split(/\s+/).filter(Boolean),
        tenant: tenant.value.trim() || undefined,
        claims: claimsIn(claims.value.trim() || '{}'),
      }
      return { token: inspectorUserToken(user), words: `the test user ${name}` }
    },
  }
}

const field = (label: string, input: HTMLInputElement) =>
  make('div', { class: 'field' }, make('label', { for: input.id }, label), input)

function claimsIn(text: string) {
  let claims: unknown
  try {
    claims = JSON.parse(text)
  } catch {
    claims = undefined
  }
  if (!isObject(claims)) throw new Error('Other claims must be a JSON object, such as {"email":"ada@example.com"}')
  return claims
}
