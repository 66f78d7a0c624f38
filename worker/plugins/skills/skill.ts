import type { Params } from '../../protocol/types.ts'

/** A skill as `npx edgemcp skills` writes it: a folder of instructions that has a `SKILL.md`. */
export type Skill = {
  /** The path of the folder, such as `git-help` or `tools/git-help`: its last part is the name of the skill. */
  readonly folder: string
  /** What `SKILL.md` begins with, between two lines of `---`. */
  readonly frontmatter: Params & { readonly name: string; readonly description: string }
  readonly files: readonly SkillFile[]
}

export type SkillFile = {
  /** Below the folder of the skill, with `/` between folders: `SKILL.md`, `references/commands.md`. */
  readonly path: string
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
} & ({ readonly text: string } | { readonly base64: string })
