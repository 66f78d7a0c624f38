import { encodeBase64url } from '../../protocol/base64url.ts'
import { sha256 } from '../../sealing/sha256.ts'
import type { IdentityProvider, User } from './providers/provider.ts'

/** Characters of a user id. It is part of tokens and of names of objects. */
const maxUserIdCharacters = 256

/**
 * Returns the id of a user among those of all providers. It is a part of tokens, so other characters than letters, digits, `-`, `_` and `.`
 * are written in hexadecimal: `auth0~7C123`.
 */
export async function userIdOf(
  { id }: User,
  { name, title }: Pick<IdentityProvider, 'name' | 'title'>,
): Promise<string> {
  if (typeof id !== 'string' || id === '') throw new Error(`${title} named no user: user() must return an id`)
  const escaped = encodeURIComponent(id).replace(/[~!*'()]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
  const userId = `${name}.${escaped.replaceAll('%', '~')}`
  return userId.length <= maxUserIdCharacters ? userId : `${name}.~~${encodeBase64url(await sha256(id))}`
}
