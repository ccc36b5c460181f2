{{- define "manifold.labels" -}}
app.kubernetes.io/name: manifold
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
