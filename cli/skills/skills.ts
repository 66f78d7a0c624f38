/** `edgemcp skills`: writes a folder of skills as a module, so that no Worker parses it at startup. */
import { relative } from 'node:path'
import type { Skill } from '../../worker/plugins/skills/skill.ts'
import { CliError } from '../cli-error.ts'
import { isInside, realPathOf } from '../files.ts'
import { checkFree, firstLine, literal, nameFor, outputModule } from '../generated-module.ts'
import { parseSkills } from './parse-skills.ts'
import { readFolder, type SkillsFolder } from './read-folder.ts'

/** @throws CliError when there is no folder, a skill is invalid, or the file of the module was not generated */
export async function skills(folder: string | undefined, { out }: { out?: string | undefined }): Promise<number> {
  if (folder === undefined)
    throw new CliError('Give the path of a folder: npx edgemcp skills skills --out src/my-skills.ts')
  if (out !== undefined) checkFree('skills', out)
  const contents = readFolder(folder)
  if (out !== undefined) checkOutside(contents, out)
  const parsed = parseSkills(contents.files)
  if (parsed.length === 0) {
    throw new CliError(`${folder} has no skills: put each skill into a folder with a SKILL.md.`)
  }
  const name = nameFor(out ?? folder, 'skills')
  const written = moduleOf(parsed, name, out === undefined ? [folder] : [folder, '--out', out])
  const count = parsed.length === 1 ? 'one skill' : `${parsed.length} skills`
  return outputModule('skills', out, written, `${count}, for server.use(skills(${name})).`)
}

/**
 * Checks that the module is not written into the folder of the skills, where the next run would read it.
 *
 * @throws CliError when the module would be in the folder, also through a symbolic link
 */
function checkOutside({ realPaths }: SkillsFolder, out: string): void {
  const realPath = realPathOf(out)
  if (!realPaths.some((path) => isInside(path, realPath))) return
  throw new CliError(
    `--out ${out}: ${relative(realPathOf('.'), realPath)} is among the skills that the command reads, and the next run would ` +
      'read it: choose another file, as in --out src/my-skills.ts.',
  )
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
