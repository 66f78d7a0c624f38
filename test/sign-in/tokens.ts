/** Signs users in, and asks the token endpoint, as an honest client does. */
import { objectName } from '../../worker/plugins/sign-in/object-names.ts'
import type { Browser } from '../../worker/testing/provider/browser.ts'
import { signIn, type SignInTokens as Tokens } from '../../worker/testing/provider/sign-in.ts'

export type { SignInTokens as Tokens } from '../../worker/testing/provider/sign-in.ts'

/** Signs the user of the browser in with GitHub. @param endpoint the URL of the MCP endpoint */
export const signInAs = (endpoint: URL, browser: Browser, scope = 'notes:read notes:write'): Promise<Tokens> =>
  signIn(endpoint, { browser, provider: 'github', requested: scope })

/** The name of an object of the server of these tests. */
export const objectAt = ({ origin }: URL, key: string): string =>
  objectName({ origin, identity: '["notes","/mcp"]' }, key)

/** Sends a request to the token endpoint. */
export const tokenRequest = (endpoint: URL, params: Record<string, string>): Promise<Response> =>
  fetch(new URL('/oauth/token', endpoint), { method: 'POST', body: new URLSearchParams(params) })
