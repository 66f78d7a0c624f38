/** Starts the longest test files first, so that no process is left with one of them when the others have finished. */
import { relative, resolve } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const root = resolve(import.meta.dirname, '../..')

/** Vitest sorts by size what it has not run before, and the longest of these files are short. Longest first. */
const longest = [
  'test/slow/package.test.ts',
  'test/slow/site.test.ts',
  'test/slow/bounds.test.ts',
  'test/slow/hosts.test.ts',
  'test/cli/doctor.test.ts',
  'test/inspector/inspector.test.ts',
  'test/simulation/planted.test.ts',
  'test/simulation/schedules.test.ts',
  'test/serve/survival.test.ts',
  'test/cli/submit.test.ts',
  'test/inspector/events.test.ts',
  'test/auth/keys.test.ts',
  'test/apps/chart.test.ts',
  'test/sign-in/openid.test.ts',
  'test/docs/code.test.ts',
  'test/contract/updates.test.ts',
  'test/inspector/access.test.ts',
  'test/json-schema/compile.test.ts',
  'test/migrating/migrating.test.ts',
  'test/sign-in/isolates.test.ts',
  'test/docs/cookbook.test.ts',
  'test/development/mistakes.test.ts',
  'test/results/results.test.ts',
  'test/auth/flow.test.ts',
  'test/events/events.test.ts',
  'test/auth/provider.test.ts',
  'test/openapi/requests.test.ts',
  'test/sign-in/operator.test.ts',
  'test/sign-in/metadata-documents.test.ts',
  'test/events/lasting.test.ts',
  'test/commands/cost-events.test.ts',
  'test/auth/browser.test.ts',
  'test/clients/clients.test.ts',
  'test/sign-in/page.test.ts',
  'test/development/effects.test.ts',
  'test/serve/stream-age.test.ts',
  'test/serve/hooks.test.ts',
  'test/serve/revival.test.ts',
  'test/limits/calls.test.ts',
  'test/simulation/fidelity/fidelity.test.ts',
  'test/tasks/sleeping.test.ts',
  'test/compose/upstream-keys.test.ts',
  'test/tasks/effects.test.ts',
  'test/json-schema/patterns.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification) => {
      // A file of another project ends the processes, which then load all modules again.
      if (project.name === 'next-version') return -1
      const index = longest.indexOf(relative(root, moduleId))
      return index < 0 ? longest.length : index
    }
    return sorted.sort((one, other) => rank(one) - rank(other))
  }
}
