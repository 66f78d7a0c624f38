/** edgemcp/skills: instructions that clients give to their models when they are needed. */
export type { Skill, SkillFile } from './skill.ts'
export { type SkillsOptions, skills } from './skills.ts'
