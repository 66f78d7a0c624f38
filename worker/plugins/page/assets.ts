/** The styles and the script of the page. They are inline and constant, so that the page's policy allows them by hash. */

export const style = `
:root{color-scheme:light dark}
*{box-sizing:border-box;margin:0}
body{max-width:66rem;margin:auto;padding:0 1.25rem;background:light-dark(#fff,#0f1114);color:light-dark(#14171a,#eceef0);font:1rem/1.6 system-ui,sans-serif;overflow-wrap:anywhere}
header,section{padding:2rem 0}
section,details+details{border-top:1px solid #8883}
h1{font-size:2.5rem;line-height:1.2}
h2,h3{font-size:1rem;font-weight:600}
h2{margin-bottom:1rem}
p{max-width:42rem;white-space:pre-line}
header p{margin:.25rem 0;font-size:1.125rem}
pre,code{font:.875rem/1.6 ui-monospace,Menlo,Consolas,monospace;}
code,small,button{color:light-dark(#59616a,#9ca4ae)}
h3 code{color:inherit;font-weight:600}
small{margin-left:.25rem;font-weight:400}
small *{font:inherit}
em,button:hover,summary:hover{color:light-dark(#0b6b4a,#63d2a4)}
b{color:light-dark(#b3261e,#ff9a8f)}
ul{padding:0;list-style:none}
li+li{margin-top:1.5rem}
figure{border:1px solid #8883;border-radius:.5rem;background:#8881}
details figure{margin:.5rem 0 1rem}
pre{padding:.75rem 1rem;white-space:pre-wrap}
button{float:right;margin:.625rem;padding:.25rem .75rem;border:1px solid #8883;border-radius:.25rem;background:0 0;font:.8125rem system-ui;cursor:pointer}
summary{display:flex;align-items:baseline;padding:.75rem 0;cursor:pointer;font-weight:600}
summary code{margin-left:auto}
summary:after{width:2rem;content:"+";text-align:right}
[open] summary:after{content:"–"}
@media(min-width:48rem){body{padding:2rem 3rem}header,section{display:grid;grid-template-columns:12rem 1fr}h2{margin:0}details:first-child summary{padding-top:0}}
`

// Without scripts or a clipboard there are no buttons that would do nothing.
export const script = `
if(navigator.clipboard)for(let pre of document.querySelectorAll('pre')){
let button=document.createElement('button'),say=word=>button.ariaLabel=(button.textContent=word)+' '+pre.ariaLabel
say('Copy')
button.ariaLive='polite'
button.onclick=async()=>{await navigator.clipboard.writeText(pre.textContent);say('Copied');setTimeout(say,1500,'Copy')}
pre.before(button)}
`
