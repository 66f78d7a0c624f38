/** Whoever is not ada of the first issuer, using its client, for no tenant. */
import type { JWTPayload } from 'jose'
import type { Attack, Stage } from './stage.ts'

/** Tokens of people who are not ada of the first issuer, using its client, for no tenant; some are nearly. */
export const others: Readonly<Record<string, (stage: Stage) => Promise<string>>> = {
  'another person': (stage) => stage.token({ sub: 'bob' }),
  'the same person in another client': (stage) => stage.token({ client_id: 'evil' }),
  'the same person without a client': (stage) => stage.token({ client_id: undefined } as unknown as JWTPayload),
  'the same person for a tenant': (stage) => stage.token({ org_id: 'acme' }),
  'a person of the same name at another accepted issuer': async (stage) =>
    stage.keep(await stage.other.token(stage.audience, { scope: 'notes:read' })),
  'somebody whose name joins to the same': (stage) =>
    stage.token({ sub: 'ada","client', client_id: undefined } as unknown as JWTPayload),
  'somebody whose name is the same but for a letter that looks alike': (stage) => stage.token({ sub: '\u0430d\u0430' }),
  'somebody whose name is the same but for its case': (stage) => stage.token({ sub: 'Ada' }),
  'somebody whose name is the same but for a space': (stage) => stage.token({ sub: 'ada ' }),
}

export const everyOther = (
  what: string,
  attack: (stage: Stage, theirs: string, adas: string) => Promise<unknown>,
  outcome: unknown,
) =>
  Object.entries(others).map(
    ([who, token]): Attack => ({
      name: `${what}: ${who}`,
      by: async (stage) => attack(stage, await token(stage), await stage.token()),
      outcome,
    }),
  )
