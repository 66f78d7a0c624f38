/** Scopes as tokens claim them. */
import { type Attack, insufficient, invalid, unique } from './stage.ts'

const letIn = (...seen: unknown[]) => ({ status: 200, result: JSON.stringify(seen) })

const write = 'notes:read notes:write'

/** A token with this claim as its scopes, calling the tool that takes two. */
const scoped = (what: string, scope: unknown, outcome: unknown = insufficient(write), name = 'write'): Attack => ({
  name: what,
  by: async (stage) => stage.call(await stage.token({ scope: scope as string, jti: unique() }), name),
  outcome,
  ran: (outcome as { status: number }).status === 200 ? [name] : [],
})

/** Scopes as other programs call them. */
const elsewhere = ['scopes', 'permissions', 'roles', 'authorities', 'scp_', 'Scope', 'realm_access'].map(
  (claim): Attack => ({
    name: `scopes in the claim ${claim}`,
    by: async (stage) => stage.call(await stage.token({ scope: undefined, [claim]: write } as never), 'write'),
    outcome: insufficient(write),
  }),
)

const notScopes = (found: string) =>
  invalid(`The claim "scope" of the token must be a string or a list of strings, not ${found}`)

const claims: Attack[] = [
  scoped('no scopes', undefined),
  scoped('an empty text', ''),
  scoped('a number', 7, notScopes('a number')),
  scoped('true', true, notScopes('true')),
  scoped('null', null, notScopes('null')),
  scoped('an object of scopes', { 'notes:read': true, 'notes:write': true }, notScopes('an object')),
  scoped('a list of lists', [['notes:read', 'notes:write']], notScopes('a list of other values')),
  scoped('a list with both in one text', [write]),
  scoped('a list of objects', [{ name: 'notes:read' }, { name: 'notes:write' }], notScopes('a list of other values')),
  scoped('commas instead of spaces', 'notes:read,notes:write', insufficient(write, `notes:read,notes:write ${write}`)),
  scoped('semicolons', 'notes:read;notes:write', insufficient(write, `notes:read;notes:write ${write}`)),
  scoped('a line break between them', 'notes:read\nnotes:write'),
  scoped('a tab between them', 'notes:read\tnotes:write'),
  scoped('a space that does not break', 'notes:read\u00a0notes:write'),
  scoped('a space of no width in one', 'notes:\u200bread notes:write', insufficient(write, `notes:write notes:read`)),
  scoped(
    'a letter that looks like another one',
    'notes:r\u0435ad notes:write',
    insufficient(write, `notes:write notes:read`),
  ),
  scoped(
    'letters of full width',
    '\uff4e\uff4f\uff54\uff45\uff53:read notes:write',
    insufficient(write, `notes:write notes:read`),
  ),
  scoped('a null byte behind one', 'notes:read\u0000 notes:write', insufficient(write, `notes:write notes:read`)),
  scoped('in capitals', 'NOTES:READ NOTES:WRITE', insufficient(write, `NOTES:READ NOTES:WRITE ${write}`)),
  scoped('only the first half of a scope', 'notes', insufficient(write, `notes ${write}`)),
  scoped('the first half with a colon', 'notes:', insufficient(write, `notes: ${write}`)),
  scoped('a star', 'notes:* *', insufficient(write, `notes:* * ${write}`)),
  scoped(
    'a longer scope that begins like one',
    'notes:read:all notes:write2',
    insufficient(write, `notes:read:all notes:write2 ${write}`),
  ),
  scoped('percent-encoded', 'notes%3Aread notes%3Awrite', insufficient(write, `notes%3Aread notes%3Awrite ${write}`)),
  scoped('in quotes', '"notes:read" "notes:write"'),
  scoped('one of the two', 'notes:write', insufficient(write, 'notes:write notes:read')),
  scoped('the other of the two', 'notes:read', insufficient(write, write)),
  scoped(
    'names of inherited members',
    '__proto__ constructor toString',
    insufficient(write, `__proto__ constructor toString ${write}`),
  ),
  ...elsewhere,
  scoped(
    'the challenge has unknown scopes of the token, and no invalid ones',
    'other:scope "quoted" notes:read',
    insufficient(write, `other:scope ${write}`),
  ),
  scoped('the challenge does not have offline_access', 'offline_access notes:read', insufficient(write, write)),
  {
    name: 'a hostile scope in the token is not reflected into the challenge',
    by: async (stage) =>
      stage.call(await stage.token({ scope: 'x", error="none", y="\r\nSet-Cookie: a=b \u00fc' }), 'write'),
    outcome: insufficient(write, `a=b ${write}`),
  },
]

const implied: Attack[] = [
  scoped('admin implies writing, as declared', 'admin', { status: 200, result: 'write' }),
  scoped('writing does not imply admin', write, insufficient('admin', `${write} admin`), 'administer'),
  scoped('administrator is not admin', 'administrator', insufficient('admin', 'administrator admin'), 'administer'),
  scoped(
    'scopes that imply each other end',
    'loop',
    letIn('ada', 'client', null, ['loop', 'noose', 'notes:read']),
    'who',
  ),
  scoped('scopes that imply each other give no other scopes', 'noose', insufficient(write, `noose ${write}`), 'write'),
  {
    name: 'admin does not imply what it was not declared to',
    by: async (stage) =>
      stage.ask(
        'prompts/get',
        { name: 'secret', arguments: { name: 'a' } },
        { token: await stage.token({ scope: 'admin' }) },
      ),
    outcome: insufficient('prompts', 'admin prompts'),
  },
]

export const scopes: Readonly<Record<string, readonly Attack[]>> = {
  'scopes as they are claimed': claims,
  'scopes that imply others': implied,
}
