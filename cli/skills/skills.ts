/** `edgemcp skills`: a folder of skills as a module, parsed once instead of whenever a Worker starts. */
import type { Skill } from '../../worker/plugins/skills/skill.ts'
import { CliError } from '../cli-error.ts'
import { checkFree, firstLine, literal, nameFor, writeModule } from '../generated-module.ts'
import { parseSkills } from './parse-skills.ts'
import { readFolder } from './read-folder.ts'

/** @throws CliError when there is no folder to read, a skill is invalid, or something else is where the module should be */
export async function skills(folder: string | undefined, { out }: { out?: string | undefined }): Promise<number> {
  if (folder === undefined) throw new CliError('Name the folder: npx edgemcp skills skills --out src/my-skills.ts')
  if (out !== undefined) checkFree('skills', out)
  const parsed = parseSkills(readFolder(folder).files)
  if (parsed.length === 0) {
    throw new CliError(`${folder} has no skill: a skill is a folder in it that has a SKILL.md.`)
  }
  const name = nameFor(out ?? folder, 'skills')
  const written = moduleOf(parsed, name, out === undefined ? [folder] : [folder, '--out', out])
  if (out === undefined) {
    process.stdout.write(written)
    return 0
  }
  writeModule('skills', out, written)
  const count = parsed.length === 1 ? 'one skill' : `${parsed.length} skills`
  console.log(`Wrote ${out}: ${count}, for server.use(skills(${name})).`)
  return 0
}

const moduleOf = (parsed: readonly Skill[], name: string, args: readonly string[]): string =>
  [
    firstLine('skills', args),
    "import type { Skill } from 'edgemcp/skills'",
    '',
    `export const ${name}: readonly Skill[] = [`,
    ...parsed.map((skill) => `  ${literal(skill)},`),
    ']',
    '',
  ].join('\n')
