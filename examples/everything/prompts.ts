/** Prompts without arguments, with an optional argument, and with completions that depend on each other. */
import type { Server } from 'edgemcp'
import * as z from 'zod'

const teams: Record<string, readonly string[]> = {
  Engineering: ['Alice', 'Bob', 'Charlie'],
  Sales: ['David', 'Eve', 'Frank'],
  Marketing: ['Grace', 'Henry', 'Iris'],
  Support: ['John', 'Kim', 'Lee'],
}

export function prompts(server: Server): void {
  server.prompt(
    'simple-prompt',
    { title: 'Simple Prompt', description: 'A prompt without arguments' },
    () => 'This is a simple prompt without arguments.',
  )

  server.prompt(
    'args-prompt',
    {
      title: 'Arguments Prompt',
      description: 'A prompt with a required and an optional argument',
      argsSchema: z.object({ city: z.string().describe('A city'), state: z.string().optional() }),
    },
    ({ city, state }) => `What's weather in ${state ? `${city}, ${state}` : city}?`,
  )

  server.prompt(
    'completable-prompt',
    {
      title: 'Team Management',
      description: 'The first argument decides which values complete the second',
      argsSchema: z.object({
        department: z.string().describe('A department'),
        name: z.string().describe('A member of this department'),
      }),
      complete: {
        department: (prefix) => Object.keys(teams).filter((team) => team.startsWith(prefix)),
        name: (prefix, { department = '' }) => (teams[department] ?? []).filter((name) => name.startsWith(prefix)),
      },
    },
    ({ department, name }) => `Please promote ${name} to the head of the ${department} team.`,
  )
}
